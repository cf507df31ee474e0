"""Words and lines, to text and back: peers, parts of RPCs, events, outputs, parameters."""
