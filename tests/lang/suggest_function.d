BEGIN { trace(strlne("a")); }
