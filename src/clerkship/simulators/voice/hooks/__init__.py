"""Hooks: what phone trees and representatives can look up or change. One file per area."""
