BEGIN { } /* no end
