# Run once, on an empty database: the role of the programs, which owns nothing, so that row-level security holds for it.
psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 --set password="$POSTGRES_PASSWORD" <<'SQL'
CREATE ROLE programs LOGIN PASSWORD :'password';
SQL
