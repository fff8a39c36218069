BEGIN { trace(`xdt_curdom); }
