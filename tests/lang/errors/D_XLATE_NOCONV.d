struct o { string name; int pid; };
translator struct o < int N > { pid = N; };
BEGIN { trace(xlate <struct o> (5).name); }
// at 3:15
