"""What every policy needs of nodes: sets of them, who runs where, the timeline, the queue."""
