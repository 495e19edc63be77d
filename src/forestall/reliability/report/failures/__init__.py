"""A failure log analysed: rates, laws, trend, nodes, bursts."""
