"""The rules that schedulers are made of: timeline, queue, placement, negotiation, checkpoints."""
