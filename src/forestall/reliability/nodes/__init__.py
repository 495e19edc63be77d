"""Nodes under watch: how long they last, which are bad, and when many fail at once."""
