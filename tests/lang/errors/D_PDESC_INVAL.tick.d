tick-1ns { } // at 1:1
