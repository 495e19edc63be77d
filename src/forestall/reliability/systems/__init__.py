"""Systems of components that fail, and pools of spares."""
