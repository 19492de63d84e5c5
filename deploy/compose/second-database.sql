-- Two access points share nothing, so that each has a database of its own.
create database kurier_b;
