BEGIN { commit(1); commit(2); } // at 1:20
