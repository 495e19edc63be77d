"""The queue's next day: when jobs start and end, when nodes are free, what a drain would do."""
