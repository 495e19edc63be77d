"""An order-8 neural network on the times between failures."""
