"""Commands on a site's own records: report, lemons, import, backtest."""
