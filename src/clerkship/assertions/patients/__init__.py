"""The patients that a run knows, and which texts, addresses and data are about one of them."""
