"""SFTP and scp, on the drop's routes: packets, uploads, sessions, and the listener."""
