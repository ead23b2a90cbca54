"""Network transports: TCP listeners, connection limits, HTTP and WebSocket; no simulator and no gateway."""
