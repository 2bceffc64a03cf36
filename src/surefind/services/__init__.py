"""The verbs. Services know the ports, never who stands behind them."""
