// 慢调用（`slow=`）的文字。
import type { slow as english } from "./en-slow";

export const slow: typeof english = {
  method: "方法",
  calls: "调用次数",
  max: "最长",
  slowest: "最慢的时刻与线程",
  all: "总计",
  cpu: "CPU",
  slow: "慢调用",
  few: (n) => `${n}，调用太少，无法计算百分位`,
  none: "没有调用。",
  slowestOf: (method) => `${method} 最慢的调用`,
  call: (cpu, began, thread) => `CPU ${cpu}，开始于 ${began}，线程 ${thread}`,
  virtual: "虚拟线程",
  noCall: (pattern, why) => `${pattern} 没有计时任何调用：${why}。`,
  estimate: (method, n) => `${method}：调用过于频繁，每 ${n} 次计时一次，数字为估计值。`,
  onlyCpu: "CPU 时间的样本不能说明调用为何等待；cpu=wall 可以。",
  noStrips: "最慢的调用没有时间条：该分析没有带时间的样本。请用 cpu=wall 与 slow= 记录。",
  left: (n) => `另有 ${n} 个方法未显示；hprof-rs slow FILE 会列出它们。`,
  states: { running: "运行", waits_for_cpu: "等待 CPU", waits_for_lock: "等待锁", input_output: "输入输出", waits: "等待或挂起", sleeps: "睡眠", native_waits: "等待中的本地代码", vm: "在虚拟机中等待", collection: "垃圾回收暂停", not_running: "未运行", unknown: "无样本" },
};
