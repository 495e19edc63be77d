"""A real cluster under the engine's eyes: look, reconcile, decide, guard, act, book."""
