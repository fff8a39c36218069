#pragma D option quiet
BEGIN { trace(1); trace("a"); trace(-5LL); }
