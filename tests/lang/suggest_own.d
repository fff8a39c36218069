int counter;
BEGIN { trace(conter); }
