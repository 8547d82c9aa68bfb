-- The policies of 0003 hold from now on.

ALTER TABLE autocompact.conversations ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE autocompact.leases ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE autocompact.search_namespaces ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE autocompact.compactions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE autocompact.messages ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
-- not forced on the owner, as which the functions of the index run
ALTER TABLE autocompact.passages ENABLE ROW LEVEL SECURITY;
