-- A payload of 20 MB that a statement carries went to a temporary file and back, up to three times: it is more than work_mem.
alter function accept_documents(
  uuid[], uuid[], uuid[], text[], text[], text[], text[], text[], timestamptz[], jsonb[], text[], text[], text[], smallint[], text[],
  text[], uuid[], jsonb[], timestamptz[], text[], text[], integer[], uuid[], text[], jsonb, text[], integer
) set work_mem = '64MB';
alter function receive_businesses(
  uuid[], uuid[], text[], text[], text[], text[], text[], timestamptz[], text[], text[], text[], jsonb[], timestamptz[], text[], text[],
  integer[], jsonb[], jsonb[], text[], jsonb[]
) set work_mem = '64MB';
