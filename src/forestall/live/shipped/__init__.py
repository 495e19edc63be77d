"""Files that a site takes into its own systems: units of systemd, a Grafana dashboard, alert rules
of Prometheus, settings to begin with."""
