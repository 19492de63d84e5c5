-- The firms of this engine as a directory: found by their names, written with or without Slovak letters.

-- Letters without marks and without case, so that a name is found as people type it.
create function search_form(p_text text) returns text language sql immutable parallel safe strict as $$
  select translate(lower(p_text),
    'áäčďéíĺľňóôŕšťúýžěřůöüőűÁÄČĎÉÍĹĽŇÓÔŔŠŤÚÝŽĚŘŮÖÜŐŰ',
    'aacdeillnoorstuyzeruououaacdeillnoorstuyzeruouou')
$$;

-- A page of a search is read in this order, and ends when it is full.
create index firm_search on firm (search_form(name), id) where not sends_only;
create index firm_ic_dph on firm (ic_dph) where ic_dph is not null;
