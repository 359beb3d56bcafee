# Generated from _async by tools/unasync.py; edit that instead.
