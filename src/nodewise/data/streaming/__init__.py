"""Tables of any size into a store, in bounded memory."""
