"""Asks a question of docs/fleet in Spark: python ask_spark.py FOLDER FILE.sql prints rows as JSON.

FOLDER is that of `hprof-rs export --parquet`. Partitions stay texts: a service may be called 42.
"""

import json
import os
import sys

from pyspark.sql import SparkSession


def main(lake, *questions):
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    for table in os.listdir(lake):
        view = "refs" if table == "references" else table
        spark.read.parquet(os.path.join(lake, table)).createOrReplaceTempView(view)
    for question in questions:
        with open(question) as file:
            rows = spark.sql(file.read().strip().rstrip(";")).collect()
        print(json.dumps([row.asDict() for row in rows], default=str))


if __name__ == "__main__":
    main(*sys.argv[1:])
