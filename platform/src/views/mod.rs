//! Views: functions of an analysis and a query, which give pages of rows. No HTTP in here.
