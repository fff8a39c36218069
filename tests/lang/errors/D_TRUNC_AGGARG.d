BEGIN { trunc(5); }
