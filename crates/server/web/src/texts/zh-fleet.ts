// 对多个转储提问的页面文字。
import type { fleet as en } from "./en-fleet";

export const fleet: typeof en = {
  title: "机群",
  label: "问题",
  views: {
    services: ["服务", "每台主机以其最新的堆转储计入。"],
    growth: ["增长的类", "在主机最近的转储中逐次增长的类。"],
    suspects: ["泄漏嫌疑", "全部转储的泄漏嫌疑，以及带有它们的服务。"],
    regressions: ["版本退化", "在全部主机上，新构建比旧构建占用更多的类。"],
    waste: ["重复字符串", "各服务中相同的字符串和数组所浪费的内存。每台主机以其最新的堆转储计入。"],
  },
  service: "服务",
  allServices: "全部服务",
  noLabel: "无标签",
  last: "每台主机最近的转储数",
  measure: "大小",
  measures: { retained: "保留大小", shallow: "浅大小" },
  old: "旧构建",
  new: "新构建",
  swap: "交换",
  oneBuild: "比较需要该服务两个构建的堆转储。请给每个转储加上构建标签，例如 hprof-rs capture --label build=812。",
  empty: "还没有分析过堆转储。请给每个转储加上 service、host 和 build 标签，例如：",
  trend: (sizes) => `从最旧到最新的转储：${sizes}`,
  carried: "带有它的服务",
  toCarriers: "带有它的服务",
  toGrowth: "增长的类",
  toSuspects: "泄漏嫌疑",
  toDump: "最近一个带有它的转储",
  allSuspects: "全部嫌疑",
  gone: "已没有转储带有此嫌疑。",
  more: "对导出转储的全部类，可用 DuckDB 或 Spark 提问：",
};
