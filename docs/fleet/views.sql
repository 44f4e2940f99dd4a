-- The tables of the folder `lake` as views, for DuckDB. `references` is a word of SQL, hence `refs`.
CREATE OR REPLACE VIEW summary AS SELECT * FROM read_parquet('lake/summary/*/*/*/*/*.parquet', hive_types_autocast = false);
CREATE OR REPLACE VIEW objects AS SELECT * FROM read_parquet('lake/objects/*/*/*/*/*.parquet', hive_types_autocast = false);
CREATE OR REPLACE VIEW refs AS SELECT * FROM read_parquet('lake/references/*/*/*/*/*.parquet', hive_types_autocast = false);
CREATE OR REPLACE VIEW classes AS SELECT * FROM read_parquet('lake/classes/*/*/*/*/*.parquet', hive_types_autocast = false);
CREATE OR REPLACE VIEW histogram AS SELECT * FROM read_parquet('lake/histogram/*/*/*/*/*.parquet', hive_types_autocast = false);
CREATE OR REPLACE VIEW roots AS SELECT * FROM read_parquet('lake/roots/*/*/*/*/*.parquet', hive_types_autocast = false);
CREATE OR REPLACE VIEW threads AS SELECT * FROM read_parquet('lake/threads/*/*/*/*/*.parquet', hive_types_autocast = false);
CREATE OR REPLACE VIEW stacks AS SELECT * FROM read_parquet('lake/stacks/*/*/*/*/*.parquet', hive_types_autocast = false);
CREATE OR REPLACE VIEW frames AS SELECT * FROM read_parquet('lake/frames/*/*/*/*/*.parquet', hive_types_autocast = false);
CREATE OR REPLACE VIEW sites AS SELECT * FROM read_parquet('lake/sites/*/*/*/*/*.parquet', hive_types_autocast = false);
CREATE OR REPLACE VIEW samples AS SELECT * FROM read_parquet('lake/samples/*/*/*/*/*.parquet', hive_types_autocast = false);
CREATE OR REPLACE VIEW findings AS SELECT * FROM read_parquet('lake/findings/*/*/*/*/*.parquet', hive_types_autocast = false);
CREATE OR REPLACE VIEW duplicates AS SELECT * FROM read_parquet('lake/duplicates/*/*/*/*/*.parquet', hive_types_autocast = false);
