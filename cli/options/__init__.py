"""The options of each command. To parse a command line, or to show its help, loads no more than this."""
