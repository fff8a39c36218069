translator int < int N > { pid = N; };
BEGIN { trace(1); }
