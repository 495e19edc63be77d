"""`fs.judge`: what predictions are worth: ROC and significance, attribution, cost and benefit."""

from forestall.app.judge.policies.judge import PolicyStudy, play_policies
from forestall.app.judge.questions import (
    CollectionSettings,
    How,
    JobStudySettings,
    PolicySettings,
    TrialPlanSettings,
    TrialSettings,
)
from forestall.assess.alarm_costs import AlarmCosts, RunningJobs, checkpoint_costs, move_costs
from forestall.assess.alarms import judge as judge_alarms
from forestall.assess.alarms import line_of
from forestall.assess.attribution import Attribution, Fates, MetricSamples, attribute
from forestall.assess.benefit import (
    BenefitCurve,
    Occasions,
    at_random,
    net_benefit,
    of_periods,
    perfect,
    unrelated,
)
from forestall.assess.figures import plot_roc
from forestall.assess.figures_benefit import plot_actions, plot_benefit
from forestall.assess.figures_memory import plot_metric
from forestall.assess.roc import area, roc
from forestall.assess.significance import (
    AreaInterval,
    Permutation,
    delong,
    expected_p,
    permutation,
)
from forestall.assess.trials import (
    NodeSpread,
    TrialResult,
    days_needed,
    judge_trial,
    least_effect,
    pair_nodes,
    spread_of_nodes,
)
from forestall.traces.generate.memory import memory_machine
from forestall.traces.generate.memory_world import MemoryPolicy

__all__ = [
    "AlarmCosts",
    "AreaInterval",
    "Attribution",
    "BenefitCurve",
    "CollectionSettings",
    "Fates",
    "How",
    "JobStudySettings",
    "MemoryPolicy",
    "MetricSamples",
    "NodeSpread",
    "Occasions",
    "Permutation",
    "PolicySettings",
    "PolicyStudy",
    "RunningJobs",
    "TrialPlanSettings",
    "TrialResult",
    "TrialSettings",
    "area",
    "at_random",
    "attribute",
    "checkpoint_costs",
    "days_needed",
    "delong",
    "expected_p",
    "judge_alarms",
    "judge_trial",
    "least_effect",
    "line_of",
    "memory_machine",
    "move_costs",
    "net_benefit",
    "of_periods",
    "pair_nodes",
    "perfect",
    "permutation",
    "play_policies",
    "plot_actions",
    "plot_benefit",
    "plot_metric",
    "plot_roc",
    "roc",
    "spread_of_nodes",
    "unrelated",
]
