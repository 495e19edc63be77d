"""The wall clock around the engine: what really runs is watched, and decisions are carried out
through a back end."""
