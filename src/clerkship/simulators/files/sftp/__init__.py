"""SFTP and scp, on the drop's routes: packets, uploads, sessions, and the line they come in by."""
