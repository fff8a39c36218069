// args: -s {}
BEGIN { trace((char)7); trace((uint16_t)7); trace(7); trace(7LL); trace("s"); }
