"""SFTP and scp over the operations of a drop: packets, uploads, sessions and the listener."""
