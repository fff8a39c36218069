struct o { int pid; };
translator struct o < int N > { pid = xlate <struct o> (N).pid; };
BEGIN { trace(xlate <struct o> (1).pid); }
