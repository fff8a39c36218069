BEGIN { trunc(); }
