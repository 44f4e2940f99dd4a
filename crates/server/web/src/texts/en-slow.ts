// Texts of slow calls (`slow=`).

export const slow = {
  method: "Method",
  calls: "Calls",
  max: "Max",
  slowest: "Slowest at, in thread",
  all: "In all",
  cpu: "CPU",
  slow: "Slow",
  few: (n: string) => `${n}, too few calls for a percentile`,
  none: "No calls came.",
  slowestOf: (method: string) => `Slowest calls of ${method}`,
  call: (cpu: string, began: string, thread: string) => `CPU ${cpu}, began ${began} in ${thread}`,
  virtual: "virtual",
  noCall: (pattern: string, why: string) => `${pattern} has timed no call: ${why}.`,
  estimate: (method: string, n: string) => `${method}: called too often for each call to be timed: one in ${n} is, and the figures are estimates.`,
  onlyCpu: "Samples of CPU time do not say why calls wait; cpu=wall does.",
  noStrips: "The slowest calls have no strips: the profile has no samples with times. Record cpu=wall with slow=.",
  left: (n: string) => `${n} more methods are not shown; hprof-rs slow FILE lists them.`,
  states: { running: "running", waits_for_cpu: "waiting for a CPU", waits_for_lock: "waiting for a lock", input_output: "input or output", waits: "waiting or parked", sleeps: "sleeping", native_waits: "native code that waits", vm: "waiting in the VM", collection: "stopped by a collection", not_running: "not running", unknown: "no sample" } as Record<string, string>,
};
