"""`fs.judge`: what predictions are worth: ROC and significance, attribution, cost and benefit."""

from forestall.logs.generate.memory import memory_machine
from forestall.logs.generate.memory_world import MemoryPolicy
from forestall.prediction.assess.alarm_costs import (
    AlarmCosts,
    RunningJobs,
    checkpoint_costs,
    move_costs,
)
from forestall.prediction.assess.alarms import judge as judge_alarms
from forestall.prediction.assess.alarms import line_of
from forestall.prediction.assess.attribution import Attribution, Fates, MetricSamples, attribute
from forestall.prediction.assess.benefit import (
    BenefitCurve,
    Occasions,
    at_random,
    net_benefit,
    of_periods,
    perfect,
    unrelated,
)
from forestall.prediction.assess.figures import plot_roc
from forestall.prediction.assess.figures_benefit import plot_actions, plot_benefit
from forestall.prediction.assess.figures_memory import plot_metric
from forestall.prediction.assess.roc import area, roc
from forestall.prediction.assess.significance import (
    AreaInterval,
    Permutation,
    delong,
    expected_p,
    permutation,
)
from forestall.prediction.assess.trials import (
    NodeSpread,
    TrialResult,
    days_needed,
    judge_trial,
    least_effect,
    pair_nodes,
    spread_of_nodes,
)
from forestall.prediction.judge.policies.judge import PolicyStudy, play_policies
from forestall.prediction.judge.questions import (
    CollectionSettings,
    How,
    JobStudySettings,
    PolicySettings,
    TrialPlanSettings,
    TrialSettings,
)

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
