"""Jobs on nodes that fail, under the promise policy and the classic policies."""
