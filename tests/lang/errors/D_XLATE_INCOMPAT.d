struct o { string name; };
translator struct o < int N > { name = N; };
BEGIN { trace(xlate <struct o> (5).name); }
// at 2:40
