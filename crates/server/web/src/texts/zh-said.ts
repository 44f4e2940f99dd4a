// 服务器所发英文句子的中文。名称（捕获的部分）原样保留。
import type { Said } from "./said";

const size = (text: string) => text.replace(/ bytes$/, " 字节");
/** The end of a sentence that may end in a point. */
const stop = (point: string) => (point ? "。" : "");
const list = (text: string) => text.replace(/ and (?=\S+( \([^()]*\))?$)/, "、").replaceAll(", ", "、");

/** ", through the field x" and the like. */
const through = (text: string) => (text ? text.replace(/^, at last through the field /, "，最终经由字段 ").replace(/^, through the fields? /, "，经由字段 ").replace(/ and (?=\S+$)/, "、") : "");

/** The object or objects that keep something alive. */
const subject = (text: string) =>
  text
    .replace(/^[Oo]ne (.+)$/s, "一个 $1 ")
    .replace(/^(\S+) objects of class (.+), held each in the same way,?$/s, "$1 个以相同方式持有的 $2 类对象")
    .replace(/^(\S+) values of ThreadLocals of class (.+), held each by its thread,$/s, "$1 个由各自线程持有的 ThreadLocal 值（$2 类）")
    .replace(/^(\S+) values of ThreadLocals of class (.+)$/s, "$1 个 ThreadLocal 值（$2 类）")
    .replace(/^(\S+) (virtual )?threads( ".+")?(?: of class (\S+))?$/s, (_, n, kind, name, of) => `${n} 个${kind ? "虚拟" : ""}线程${name ?? ""}${of ? `（${of} 类）` : ""} `)
    .replace(/^Class (\S+)$/, "类 $1 ")
    .replace(/^(\S+) hidden classes (.+)$/s, "$1 个隐藏类 $2 ")
    .replace(/^(\S+) objects of class (\S+)$/, "$1 个 $2 类对象");

const objects = (text: string) => text.replace(/^(?:(\S+) )?objects? of class (\S+)( whose referents are gone)?$/, (_, n, name, gone) => `${n ? `${n} 个 ` : ""}${name} 类对象${gone ? "（其引用目标已被回收）" : ""}`);

/** What follows the share of the heap in the first sentence on a suspect. */
function afterShare(text: string, again: (part: string) => string): string {
  const found = /^(, besides what other suspects keep)?(?:: (.+?))?(?:, by the static fields? (\S+|\S+ and \S+|\S+, \S+ and \S+))?(?:, filled with (.+?))?(?:, which holds? (.+?))?(?:, in threads (".+?"))?(?:, by the (?:static )?field (\S+))?(?:, held by the (.+?))?(?:, mostly by (.+))?$/s.exec(text.replace(/\.$/, ""));
  if (!found) return text;
  const [, rest, who, fields, filled, within, threads, variable, holder, mostly] = found;
  const add = (part: string | undefined, words: (part: string) => string) => (part ? words(part) : "");
  return [
    rest ? "（不含其他嫌疑所保留的）" : "",
    add(who, (it) => `：${subject(it).trimEnd()}`),
    add(fields, (it) => `，经由静态字段 ${list(it)}`),
    add(filled, (it) => `，其中装有 ${objects(it)}`),
    add(within, (it) => `，它们持有 ${objects(it)}`),
    add(threads, (it) => `，位于线程 ${it} 中`),
    add(variable, (it) => `，经由字段 ${it}`),
    add(holder, (it) => `，由${holderOf(it, again)}持有`),
    add(mostly, (it) => `，大多经由${it.replace(/^a local variable in (.+)$/s, " $1 中的局部变量").replace(/^the field /, "字段 ")}`),
  ].join("");
}

function holderOf(text: string, again: (part: string) => string): string {
  const field = /^static field (\S+)(?: through the field (\S+))?$/.exec(text);
  if (field) return `静态字段 ${field[1]} ${field[2] ? `经由字段 ${field[2]} ` : ""}`;
  const local = /^(.+) \(local variable in (.+)\)$/s.exec(text);
  if (local) return ` ${again(local[1]!)}（${local[2]} 中的局部变量）`;
  const inThread = /^(.+) in a ThreadLocal$/s.exec(text);
  if (inThread) return ` ${again(inThread[1]!)} 在一个 ThreadLocal 中`;
  return ` ${again(text)} `;
}

/** What follows the class and size in a sentence on the objects that fill a suspect. */
const afterAverage = (text: string) =>
  text
    .replace(/^, with all classes that it has loaded/, "，包括其加载的全部类")
    .replace(/^(，包括其加载的全部类)?, in a (\S+?)\.(?= |$)/, "$1（位于 $2）。")
    .replace(/^(，包括其加载的全部类)?\.(?= |$)/, "$1。")
    .replace(/^((?:，包括其加载的全部类)?(?:（.+?）)?。) /, "$1")
    .replace(/ ?Of (\S+) objects of class (\S+) that were looked at, (\S+) are cleared: their referents are gone, and the entries stay\./, "在查看的 $1 个 $2 类对象中，$3 个已清除：其引用目标已被回收，而条目仍在。")
    .replace(/ ?Only soft references hold these: the collector frees them before memory runs out\./, "只有软引用持有它们：收集器会在内存耗尽之前释放它们。");

const ROOTS: Record<string, string> = {
  "JNI global reference": "JNI 全局引用",
  "JNI local reference": "JNI 局部引用",
  "local variable": "局部变量",
  "native stack": "本地栈",
  "class of the boot loader": "启动类加载器的类",
  "thread block": "线程块",
  "monitor in use": "使用中的监视器",
  "running thread": "运行中的线程",
  "interned string": "驻留字符串",
  "object to be finalized": "待终结的对象",
  "system class": "系统类",
  "class that the VM keeps": "虚拟机保留的类",
  "JNI monitor": "JNI 监视器",
  "root of unknown kind": "未知种类的根",
};

/** Whole sentences. */
export const WHOLE: Record<string, string> = {
  ...ROOTS,
  "what the smaller rows retain is still being worked out; ask again in some seconds": "较小行的保留大小仍在计算，将自动更新",
  "what rows retain is at least what is shown: the heap has too many different ways to its objects": "各行的保留大小至少如所示：堆中通往对象的路径过于多样",
  "the dump has no roots": "此转储没有根",
  "the dump does not tell where objects were allocated; the agent writes dumps that do, with heap=all": "此转储未记录对象的分配位置；代理以 heap=all 写出的转储含有此信息",
  "objects are being counted; ask again in some seconds": "正在统计对象，将自动更新",
  "no object of the dump names a stack with frames": "此转储中没有对象带有调用栈",
  "another library took over the profiler's signal, and sampling stopped then": "另一个库接管了剖析器的信号，采样自此停止",
  "the file is empty": "文件是空的",
  "the file holds a header and nothing else: it is cut short": "文件只有文件头，没有其他内容：文件被截断了",
  "The file holds neither a heap dump nor a profile: it may be cut short.": "文件中既没有堆转储，也没有剖析：文件可能被截断了。",
  "this is no heap dump, profile, thread dump or garbage collection log: give what a JVM, `jcmd PID GC.heap_dump`, `hprof-rs run` or Android wrote": "这不是堆转储、剖析、线程转储或垃圾回收日志：请提供 JVM、`jcmd PID GC.heap_dump`、`hprof-rs run` 或 Android 写出的文件",
  "the profile counted nothing": "此剖析没有任何计数",
  "a row counts the objects of a class and of all classes below it; what they retain together is not worked out": "每行统计一个类及其全部子类的对象；它们共同的保留大小不作计算",
  "no root reaches this object": "没有根能到达此对象",
  "no root reaches this object, so it keeps nothing alive": "没有根能到达此对象，因此它不使任何对象存活",
  "the dump has no system properties: java.lang.System.props is not in it": "此转储没有系统属性：其中不含 java.lang.System.props",
  "the dump has no environment: the program has not called System.getenv": "此转储没有环境变量：程序未调用 System.getenv",
  "the dump has no direct byte buffer": "此转储没有直接字节缓冲区",
  "the dump is not of Android": "这不是 Android 的转储",
  "no two arrays of the dump have equal contents": "此转储中没有内容相同的数组",
  "collections are being counted; ask again in some seconds": "正在统计集合，将自动更新",
  "the dump has no live collection of a known class": "此转储没有已知类的存活集合",
  "the dump names no thread with an object": "此转储没有带对象的线程",
  "references are being counted; ask again in some seconds": "正在统计引用，将自动更新",
  "the dump has no object of java.lang.ref.Reference with a referent": "此转储没有带被引用对象的 java.lang.ref.Reference",
  "roots reach all objects of the dump": "根能到达此转储的全部对象",
  "a loader retains itself, its classes and what they hold in static fields; the boot loader has no object": "类加载器保留其自身、其类及静态字段所持有的内容；启动类加载器没有对象",
  "no class was loaded by more than one loader": "没有被多个类加载器加载的类",
  "more than 100000 instances are in the order of their identifiers; sort=-retained sorts them": "实例过多，按标识排列；单击列标题“保留大小”即可排序",
  "the instances of the class are not listed here": "此处不列出该类的实例",
  "in a list of more than 20000 objects the filter looks at their classes, not at their contents": "对象过多时，过滤条件只看类，不看内容",
  "elements are shown as keys without values": "元素显示为没有值的键",
  "frames that only the profile before has are not shown": "仅在之前的剖析中出现的帧不显示",
  "frames that only the window before has are not shown": "仅在之前时间段中出现的帧不显示",
  "no series of the selector has values in this window": "所选条件在此时间段内没有数值",
  "before: no series of the selector has values in this window": "之前：所选条件在该时间段内没有数值",
  "after: no series of the selector has values in this window": "之后：所选条件在该时间段内没有数值",
  "profiles that other servers of the fleet received are missing until the first exchange with them ends": "在首次交换完成之前，缺少集群中其他服务器收到的分析数据",
  "profiles that other servers of the fleet received are not here: servers share them over object storage only": "不含集群中其他服务器收到的分析数据：只有使用对象存储时服务器才共享这些数据",
  "the last values of each series in the window": "该时间段内每个序列的最后数值",
  "Nothing in this dump is known to be alive.": "此转储中没有已知存活的对象。",
  "this analysis is being opened; ask again": "正在打开此分析，请再试",
  "the paths of this dump are still being worked out; ask again": "此转储的路径仍在计算，请再试",
  "the server answers as many questions as it can; ask again": "服务器正忙，请再试",
  "the index of this analysis is gone; retry its job": "此分析的索引已不存在；请重试其任务",
  "a view broke on this dump; see the server's log": "视图在此转储上出错；请查看服务器日志",
  "the server's log says why": "原因见服务器日志",
  "an identifier is a hexadecimal number such as 0x7f001230": "标识是十六进制数，例如 0x7f001230",
  "the agent was detached": "代理已分离",
  "the recording was ended; the agent's stream continues": "记录已结束；代理的数据流继续",
  "its profile is binary (format=b), and shows when the stream ends or is dumped; start the program with format=a to watch it": "其分析数据为二进制（format=b），在数据流结束或转储时显示；以 format=a 启动程序即可观察",
  "its agent is of another maker, and takes no requests": "其代理来自其他厂商，不接受请求",
  "it records none of cpu=samples, heap=sites and monitor=y; start the program with one of them to watch it": "它未记录 cpu=samples、heap=sites 或 monitor=y；以其中之一启动程序即可观察",
  "no class of the service grew in each of these dumps": "该服务没有在这些转储中逐次增长的类",
  "no class takes more in the new build than in the old one": "没有在新构建中占用更多的类",
  "dumps that an earlier version analysed are still being added": "早期版本分析过的转储仍在补充，将自动更新",
  "sizes are those of a host on average; each host counts with its newest dump of a build": "大小为每台主机的平均值；每台主机以该构建的最新转储计入",
  "The worker could not work": "工作进程无法工作",
  "The object storage does not work": "对象存储无法工作",
  "The object storage refuses": "对象存储拒绝了请求",
  "The cache is full": "缓存已满",
  "The bytes in the storage are damaged": "存储中的数据已损坏",
  "Another worker was faster": "另一个工作进程更快完成",
  "Bytes come through the server": "数据须经由服务器上传",
  "The worker was killed": "工作进程被终止",
  "The worker was lost": "与工作进程失去联系",
  "The database cannot be reached": "无法连接数据库",
  "the server tries to reach its database again; repeat the request in a few seconds": "服务器正在重新连接数据库；请几秒后重试",
  "its machine or process ended, or did not reach the database in time, in each attempt; the analysis may take more memory than the machine has: start workers with a smaller --memory, then retry": "每次尝试中，其机器或进程均已结束，或未能及时连接数据库；分析所需内存可能超过机器内存：请以更小的 --memory 启动工作进程，然后重试",
  "The memory limit was reached": "已达到内存上限",
  "The analyser failed": "分析器失败",
  "The disk is full": "磁盘已满",
  "The file could not be analysed": "无法分析此文件",
  // Advice on garbage collection.
  "Raise -Xmx, or start the concurrent cycle earlier with a lower -XX:InitiatingHeapOccupancyPercent; if the heap after full collections keeps growing, look for a leak with `hprof-rs leaks`.":
    "调高 -Xmx，或调低 -XX:InitiatingHeapOccupancyPercent 使并发周期更早开始；如果完全回收后的堆持续增长，请用 `hprof-rs leaks` 查找泄漏。",
  "Raise -Xmx, or change to a concurrent collector with -XX:+UseG1GC; if the heap after full collections keeps growing, look for a leak with `hprof-rs leaks`.":
    "调高 -Xmx，或以 -XX:+UseG1GC 改用并发回收器；如果完全回收后的堆持续增长，请用 `hprof-rs leaks` 查找泄漏。",
  "Raise -Xmx, or give the collector more threads with -XX:ConcGCThreads.": "调高 -Xmx，或以 -XX:ConcGCThreads 给回收器更多线程。",
  "Raise -Xmx; if the heap after full collections keeps growing, look for a leak with `hprof-rs leaks`.": "调高 -Xmx；如果完全回收后的堆持续增长，请用 `hprof-rs leaks` 查找泄漏。",
  "Raise -Xmx, and have the next failure write a heap dump with -XX:+HeapDumpOnOutOfMemoryError.": "调高 -Xmx，并以 -XX:+HeapDumpOnOutOfMemoryError 让下一次失败写出堆转储。",
  "Raise -Xmx or -XX:G1ReservePercent, and lower -XX:InitiatingHeapOccupancyPercent so that the old generation is collected earlier.":
    "调高 -Xmx 或 -XX:G1ReservePercent，并调低 -XX:InitiatingHeapOccupancyPercent，使老年代更早得到回收。",
  "Lower -XX:CMSInitiatingOccupancyFraction with -XX:+UseCMSInitiatingOccupancyOnly, raise -Xmx, or change to -XX:+UseG1GC.":
    "调低 -XX:CMSInitiatingOccupancyFraction 并使用 -XX:+UseCMSInitiatingOccupancyOnly，调高 -Xmx，或改用 -XX:+UseG1GC。",
  "Raise -Xmx, or enlarge the survivor spaces with a lower -XX:SurvivorRatio so that fewer objects are promoted.":
    "调高 -Xmx，或调低 -XX:SurvivorRatio 以扩大幸存区，使晋升的对象更少。",
  "Raise -Xmx, or give ZGC more threads with -XX:ConcGCThreads; -XX:SoftMaxHeapSize below -Xmx leaves room for peaks.":
    "调高 -Xmx，或以 -XX:ConcGCThreads 给 ZGC 更多线程；低于 -Xmx 的 -XX:SoftMaxHeapSize 会为峰值留出余地。",
  "Raise -Xmx, start cycles earlier with a higher -XX:ShenandoahMinFreeThreshold, or raise -XX:ConcGCThreads.":
    "调高 -Xmx，调高 -XX:ShenandoahMinFreeThreshold 使周期更早开始，或调高 -XX:ConcGCThreads。",
  "Start the cycle earlier with a lower -XX:InitiatingHeapOccupancyPercent, or raise -XX:ConcGCThreads or -Xmx.":
    "调低 -XX:InitiatingHeapOccupancyPercent 使周期更早开始，或调高 -XX:ConcGCThreads 或 -Xmx。",
  "Raise -Xmx, or see what fills the heap: `hprof-rs capture PID`, then `hprof-rs leaks`.": "调高 -Xmx，或查看是什么占满了堆：先 `hprof-rs capture PID`，再 `hprof-rs leaks`。",
  "Take two heap dumps some time apart and compare them with `hprof-rs growth`; `hprof-rs leaks` names what holds the memory.":
    "间隔一段时间取两个堆转储，用 `hprof-rs growth` 比较；`hprof-rs leaks` 会指出是什么持有内存。",
  "Find the caller with `hprof-rs run --agent cpu=times`, or make these concurrent with -XX:+ExplicitGCInvokesConcurrent; -XX:+DisableExplicitGC ignores them.":
    "用 `hprof-rs run --agent cpu=times` 找出调用者，或以 -XX:+ExplicitGCInvokesConcurrent 使其并发进行；-XX:+DisableExplicitGC 会忽略这些调用。",
  "Find the caller with `hprof-rs run --agent cpu=times`, or ignore such calls with -XX:+DisableExplicitGC.":
    "用 `hprof-rs run --agent cpu=times` 找出调用者，或以 -XX:+DisableExplicitGC 忽略这些调用。",
  "Find the caller with `hprof-rs run --agent cpu=times`, or make these concurrent with -XX:+ExplicitGCInvokesConcurrent; -XX:+DisableExplicitGC ignores them. A tool has asked for the others; take histograms and dumps less often.":
    "用 `hprof-rs run --agent cpu=times` 找出调用者，或以 -XX:+ExplicitGCInvokesConcurrent 使其并发进行；-XX:+DisableExplicitGC 会忽略这些调用。其余由某个工具请求；请减少取直方图和转储的次数。",
  "Find the caller with `hprof-rs run --agent cpu=times`, or ignore such calls with -XX:+DisableExplicitGC. A tool has asked for the others; take histograms and dumps less often.":
    "用 `hprof-rs run --agent cpu=times` 找出调用者，或以 -XX:+DisableExplicitGC 忽略这些调用。其余由某个工具请求；请减少取直方图和转储的次数。",
  "A tool has asked for them; take histograms and dumps less often.": "这是某个工具所请求的；请减少取直方图和转储的次数。",
  "Set -XX:MetaspaceSize to what the program needs; if metaspace keeps growing, look for leaked class loaders with `hprof-rs classloaders`.":
    "将 -XX:MetaspaceSize 设为程序所需的大小；如果元空间持续增长，请用 `hprof-rs classloaders` 查找泄漏的类加载器。",
  "Raise -Xmx, so that collections are rarer, or find what allocates: `hprof-rs record PID --alloc`.": "调高 -Xmx 以减少回收次数，或找出谁在分配：`hprof-rs record PID --alloc`。",
  "Lower -XX:MaxGCPauseMillis, and do not set -Xmn, which takes that choice from G1; for pauses below a millisecond use -XX:+UseZGC.":
    "调低 -XX:MaxGCPauseMillis，并且不要设置 -Xmn，它会使 G1 无法自行选择；若需要低于一毫秒的暂停，请使用 -XX:+UseZGC。",
  "Change to -XX:+UseG1GC with -XX:MaxGCPauseMillis, or to -XX:+UseZGC for pauses below a millisecond.": "改用 -XX:+UseG1GC 并设置 -XX:MaxGCPauseMillis；若需要低于一毫秒的暂停，请改用 -XX:+UseZGC。",
  "See in the list of the longest pauses what they are, and give the machine CPU time and memory.": "请在最长暂停的列表中查看它们是什么，并给机器更多 CPU 时间和内存。",
  "Raise -XX:G1HeapRegionSize (up to 32m), or find who allocates such arrays: `hprof-rs record PID --alloc`.": "调高 -XX:G1HeapRegionSize（最大 32m），或找出谁在分配这样的数组：`hprof-rs record PID --alloc`。",
  "Operations whose names have Thread, Stack or Deadlock come from tools that ask for dumps of threads: let them ask less often. RevokeBias goes away with -XX:-UseBiasedLocking (JDK 11 to 17), Deoptimize and RedefineClasses with fewer agents and less late class loading.":
    "名称含 Thread、Stack 或 Deadlock 的操作来自请求线程转储的工具：让它们少请求一些。RevokeBias 可用 -XX:-UseBiasedLocking（JDK 11 至 17）消除；减少 agent 和运行后期的类加载可减少 Deoptimize 和 RedefineClasses。",
  "No thread is in the first dump and in the last: these are dumps of different programs.": "没有线程同时出现在第一个和最后一个转储中：这些转储来自不同的程序。",
  "Not all of these dumps tell their time; they are in the order in which they were chosen.": "并非所有转储都注明了时间；它们按选择的顺序排列。",
  "Look for long loops and big array copies with -Xlog:safepoint*=debug; -XX:+UseCountedLoopSafepoints has loops stop, and a machine without free CPU time delays all of it.":
    "用 -Xlog:safepoint*=debug 查找长循环和大数组的复制；-XX:+UseCountedLoopSafepoints 使循环能够停下，而机器没有空闲 CPU 时间时一切都会延迟。",
  "The machine swaps, its disk is slow for the log, or the container's CPU limit throttles: look at `vmstat 1` and cpu.stat, and log to memory or another disk.":
    "机器在使用交换空间，磁盘写日志太慢，或容器的 CPU 限额在节流：请查看 `vmstat 1` 和 cpu.stat，并将日志写到内存或另一块磁盘。",
  "Have the memory ready with -Xms equal to -Xmx and -XX:+AlwaysPreTouch, and look at transparent huge pages and swap.":
    "令 -Xms 等于 -Xmx 并使用 -XX:+AlwaysPreTouch 以预先备好内存，并检查透明大页和交换空间。",
  "See who allocates: `hprof-rs record PID --alloc`.": "查看谁在分配：`hprof-rs record PID --alloc`。",
  "Give each JVM a log of its own with %p in its name, such as -Xlog:gc*:file=gc-%p.log.": "在文件名中使用 %p，让每个 JVM 有自己的日志，例如 -Xlog:gc*:file=gc-%p.log。",
  "These times were passed over; the pauses of such lines count. Lines of several threads or JVMs that were written into each other look like that.":
    "这些时间已被忽略，而这些行中的暂停仍计算在内。多个线程或 JVM 的行互相写入时会出现这种情况。",
  "Figures use the time since its start. The clock of the machine was set, or the machine slept.": "各项数值使用自启动以来的时间。机器的时钟被调整过，或机器曾休眠。",
  "Throughput and rates count that time. The program was idle or the machine slept, or lines are missing.":
    "吞吐量和速率包含这段时间。程序曾空闲、机器曾休眠，或缺少日志行。",
  "Their share of the time is left out. Times are damaged, or several JVMs have written to the log: give each a log of its own with %p in its name.":
    "未给出其所占时间的比例。时间已损坏，或多个 JVM 写入了同一日志：请在文件名中使用 %p，让每个 JVM 有自己的日志。",
  "Log with -Xlog:gc*,safepoint:file=gc.log (JDK 9 and later) or -XX:+PrintGCDetails -Xloggc:gc.log (JDK 8).":
    "请以 -Xlog:gc*,safepoint:file=gc.log（JDK 9 及以后）或 -XX:+PrintGCDetails -Xloggc:gc.log（JDK 8）记录日志。",
};


/** Sentences with names and numbers; `again` puts a part, such as a root, into words. */
export const PATTERNS: Said[] = [
  // Pushed profiles of a fleet.
  [/^(\d+) segments of profiles are missing here: the storage has lost or damaged their files; the server's log names them$/, (_, n) => `此处缺少 ${n} 段分析数据：存储丢失或损坏了其文件；服务器日志列有名称`],
  [/^profiles that other servers of the fleet received after (\S+) UTC may be missing$/, (_, time) => `可能缺少集群中其他服务器在 ${time} UTC 之后收到的分析数据`],
  // Logs.
  [/^(\S+) threads wait for each other without an end\.$/, (_, n) => `${n} 个线程互相等待，永无结束。`],
  [/^(\S+) threads? waits? for a lock of (\S+)\.$/, (_, n, name) => `${n} 个线程在等待 ${name} 的锁。`],
  [/^No thread of (\S+) waits for a lock that another holds\.$/, (_, n) => `${n} 个线程中没有线程在等待他人持有的锁。`],
  [/^(\S+) pauses?, and nothing is noteworthy\.$/, (_, n) => `${n} 次暂停，没有值得注意的情况。`],
  // Findings of garbage collection; as a headline they end in a point.
  [/^(\d+) full collections? for lack of memory; the longest full collection took ([\d.]+ m?s)(\.?)$/, (_, n, longest, end) => `${n} 次完全回收因内存不足而进行；最长的一次用时 ${longest}${stop(end)}`],
  [/^(\d+) threads? that found no memory(\.?)$/, (_, n, end) => `${n} 个线程没有得到内存${stop(end)}`],
  [/^(\d+) collections? found no room to copy objects to \(to-space exhausted\)(\.?)$/, (_, n, end) => `${n} 次回收没有可供复制对象的空间（to-space exhausted）${stop(end)}`],
  [/^(\d+) cycles? of CMS did not end before the old generation was full \(concurrent mode failure\)(\.?)$/, (_, n, end) => `${n} 个 CMS 周期未能在老年代占满之前结束（concurrent mode failure）${stop(end)}`],
  [/^(\d+) young collections? found no room in the old generation \(promotion failed\)(\.?)$/, (_, n, end) => `${n} 次年轻代回收在老年代没有得到空间（promotion failed）${stop(end)}`],
  [
    /^Threads waited (\d+) times? for memory \(allocation stalls\), ([\d.]+ m?s) at most and ([\d.]+ m?s) in total(\.?)$/,
    (_, n, most, sum, end) => `线程等待内存 ${n} 次（allocation stalls），最长 ${most}，共 ${sum}${stop(end)}`,
  ],
  [/^(\d+) cycles? of Shenandoah ended in a pause because memory ran out \(degenerated\)(\.?)$/, (_, n, end) => `${n} 个 Shenandoah 周期因内存耗尽而以暂停结束（degenerated）${stop(end)}`],
  [/^(\d+) concurrent cycles? (?:was|were) given up for a full collection(\.?)$/, (_, n, end) => `${n} 个并发周期被放弃，改为完全回收${stop(end)}`],
  [/^([\d.]+[BKMGT]) of ([\d.]+[BKMGT]) were still in use after a full collection(\.?)$/, (_, used, all, end) => `完全回收后仍有 ${used}（共 ${all}）在使用中${stop(end)}`],
  [
    /^The heap after collections grows: at least (\S+), then (\S+), then (\S+) in the last three quarters of the log(\.?)$/,
    (_, one, two, three, end) => `回收后的堆在增长：在日志的后四分之三中，至少为 ${one}，然后 ${two}，然后 ${three}${stop(end)}`,
  ],
  [/^(\d+) collections? (?:was|were) asked for by (.+?)(?:, ([\d.]+ m?s) in total)?(\.?)$/s, (_, n, who, sum, end) => `${who} 请求了 ${n} 次回收${sum ? `，共 ${sum}` : ""}${stop(end)}`],
  [/^(\d+) collections? because metaspace grew(?:, ([\d.]+ m?s) in total)?(\.?)$/, (_, n, sum, end) => `${n} 次回收因元空间增长而进行${sum ? `，共 ${sum}` : ""}${stop(end)}`],
  [/^Collections stop the program for ([\d.]+%) of the time(\.?)$/, (_, share, end) => `回收使程序在 ${share} 的时间内停止${stop(end)}`],
  [
    /^The longest pause took ([\d.]+ m?s) \((.+)\); 99 in 100 took at most ([\d.]+ m?s)(\.?)$/s,
    (_, longest, kind, most, end) => `最长的暂停用时 ${longest}（${kind}）；100 次中有 99 次不超过 ${most}${stop(end)}`,
  ],
  [
    /^(\d+) collections? because of objects of half a region or more \(humongous\)(?:; regions have (\S+), and half of that is humongous)?(\.?)$/,
    (_, n, region, end) => `${n} 次回收因占半个区域或更多的对象（humongous）而进行${region ? `；区域大小为 ${region}，达到其一半即为 humongous` : ""}${stop(end)}`,
  ],
  [/^Threads took up to ([\d.]+ m?s) to stop before the work of a pause began, ([\d.]+ m?s) in total(\.?)$/, (_, most, sum, end) => `暂停的工作开始之前，线程最多用了 ${most} 才停下，总计 ${sum}${stop(end)}`],
  [/^By the settings of the recording stops below ([\d.]+ m?s) are not in it; (jdk\.\S+) in (-XX:StartFlightRecording) records all \(JDK 17 and later\)\.$/, (_, least, settings, option) => `按此记录的设置，短于 ${least} 的停顿不在其中；在 ${option} 中加上 ${settings} 可记录全部停顿（JDK 17 及以后）。`],
  [/^Stops for other reasons than collections took ([\d.]+ m?s), most of it by the operation (.+), the longest ([\d.]+ m?s)(\.?)$/, (_, sum, operation, most, end) => `垃圾回收以外的原因造成的停顿总计 ${sum}，其中操作 ${operation} 占得最多，最长一次 ${most}${stop(end)}`],
  [/^(\d+) long collections? took at least twice as long as their CPU time(\.?)$/, (_, n, end) => `${n} 次长时间的回收用时至少为其 CPU 时间的两倍${stop(end)}`],
  [/^Collections spent ([\d.]+ m?s) in the kernel and ([\d.]+ m?s) in the collector(\.?)$/, (_, kernel, own, end) => `回收在内核中用时 ${kernel}，在回收器中用时 ${own}${stop(end)}`],
  [/^The program allocates (\S+) a second(\.?)$/, (_, much, end) => `程序每秒分配 ${much}${stop(end)}`],
  [/^The time goes back (\d+) times? in the log(\.?)$/, (_, n, end) => `日志中的时间倒退了 ${n} 次${stop(end)}`],
  [/^(\d+) lines? (?:has|have) a time that does not fit those around(\.?)$/, (_, n, end) => `${n} 行的时间与前后的行不符${stop(end)}`],
  [/^The date jumps (\d+) times? while the JVM runs(\.?)$/, (_, n, end) => `JVM 运行期间日期跳变了 ${n} 次${stop(end)}`],
  [/^The log has no line for ([\d.]+ m?s) of ([\d.]+ m?s)(\.?)$/, (_, gap, all, end) => `在 ${all} 中有 ${gap} 没有任何日志行${stop(end)}`],
  [/^(Pauses|Stops) take ([\d.]+ m?s) in total, and the log covers ([\d.]+ m?s)(\.?)$/, (_, what, sum, all, end) => `${what === "Pauses" ? "暂停" : "停顿"}共计 ${sum}，而日志只涵盖 ${all}${stop(end)}`],
  [/^The log shows no pause(\.?)$/, (_, end) => `日志中没有暂停${stop(end)}`],
  // Roots.
  [/^running thread (".*")$/s, (_, name) => `运行中的线程 ${name}`],
  [/^(local variable|JNI local reference|thread block|native stack|monitor in use) in (.+)$/s, (again, root, frame) => `${frame} 中的${again(root)}`],
  // Suspects: who keeps how much.
  [/^The (static )?field (\S+) keeps (\S+(?: \S+)?) alive, ([\d.]+%) of the heap(.*)$/s, (again, kind, name, much, share, rest) => `${kind ? "静态字段" : "字段"} ${name} 使 ${size(much)} 保持存活，占堆的 ${share}${afterShare(rest, again)}`],
  [/^(.+?) keeps? (\S+(?: \S+)?) alive, ([\d.]+%) of the heap(.*)$/s, (again, who, much, share, rest) => `${subject(who)}使 ${size(much)} 保持存活，占堆的 ${share}${afterShare(rest, again)}`],
  [/^(?:The|Each) object of class (.+?) keeps (\S+ \S+) alive( on average)?(.*)$/s, (_, name, much, average, rest) => `${average ? `每个 ${name} 类对象平均` : `该 ${name} 类对象`}使 ${size(much)} 保持存活${afterAverage(rest)}`],
  [/^A thread keeps the values of its ThreadLocals until it ends or calls ThreadLocal\.remove\(\)\. One of the threads is the (.+)\.$/s, (again, root) => `线程会一直保留其 ThreadLocal 的值，直到线程结束或调用 ThreadLocal.remove()。其中一个线程是：${again(root)}。`],
  [/^No single object holds them all; the largest is kept alive by: (.+)\.$/s, (again, root) => `没有单个对象持有它们全部；最大的由以下根保持存活：${again(root)}。`],
  [/^One of them: ((?:it is|It is|They are) .+)$/s, (again, rest) => `以其中一个为例：${again(rest)}`],
  [/^(?:it is|It is|They are) the value of a ThreadLocal of the (.+), which keeps it until the thread ends or calls ThreadLocal\.remove\(\)\.$/s, (again, root) => `它是 ${again(root)} 的 ThreadLocal 的值，线程会一直保留它，直到线程结束或调用 ThreadLocal.remove()。`],
  [/^(?:it is|It is|They are) held by the static field (\S+?)((?:, through the fields? |, at last through the field ).+)?\.$/s, (_, field, way) => `由静态字段 ${field} 持有${through(way)}。`],
  [/^(?:it is|It is|They are) held by the static field (\S+) of (.+?)((?:, through the fields? |, at last through the field ).+)?\.$/s, (_, field, name, way) => `由 ${name} 的静态字段 ${field} 持有${through(way)}。`],
  [/^(?:it is|It is|They are) held by the (.+?)((?:, through the fields? |, at last through the field ).+)?\.$/s, (again, root, way) => `由${holderOf(root, again)}持有${through(way)}。`],
  [/^The largest is the (.+), in which one (.+) keeps (\S+ \S+) alive((?:, through the fields? |, at last through the field ).+)?\.$/s, (again, root, value, much, way) => `最大的是 ${again(root)}，其中一个 ${value} 使 ${size(much)} 保持存活${through(way)}。`],
  [/^Next: call remove\(\) of (\S+) at the end of each task\.$/, (_, field) => `下一步：在每个任务结束时调用 ${field} 的 remove()。`],
  [/^Next: search the code for (\S+), and see what makes it this large\.$/, (_, field) => `下一步：在代码中搜索 ${field}，查看是什么使它如此之大。`],
  [/^Next: search the code for (\S+): what adds objects of class (\S+) has to remove them, too\.$/, (_, field, name) => `下一步：在代码中搜索 ${field}：添加 ${name} 类对象的代码也必须移除它们。`],
  [/^Next: take entries out of (\S+) when their referents are gone, which a ReferenceQueue tells\.$/, (_, field) => `下一步：当引用目标被回收时，从 ${field} 中移除条目；ReferenceQueue 会告知。`],
  [/^Next: take out of (\S+) what belongs to class loaders that are no longer used\.$/, (_, field) => `下一步：从 ${field} 中移除属于不再使用的类加载器的内容。`],
  [/^Its innermost method of the program is (.+)\.$/s, (_, method) => `其最内层的程序方法是 ${method}。`],
  [/^Each of them keeps (.+) alive on average\.$/s, (_, much) => `平均每个使 ${size(much)} 保持存活。`],
  [/^It is filled with (\S+) objects? of class ([^;]+?)(?:, in ([^;]+))?; each keeps (\S+ \S+) alive on average(, with all classes that they have loaded)?\.$/s, (_, n, name, nodes, much, loaders) => `其中装有 ${n} 个 ${name} 类对象${nodes ? `（位于 ${nodes}）` : ""}；平均每个使 ${size(much)} 保持存活${loaders ? "，包括其加载的全部类" : ""}。`],
  [/^Of the (\S+) largest, most of the memory is in (.+)\.$/s, (_, n, what) => `在最大的 ${n} 个中，大部分内存位于 ${list(what)}。`],
  [/^Most of the memory is in (.+)\.$/s, (_, what) => `大部分内存位于 ${list(what)}。`],
  [/^Of (\S+) objects looked at, (\S+) were allocated in (.+)\.$/s, (_, all, n, where) => `在查看的 ${all} 个对象中，${n} 个分配于 ${where === "an unknown place" ? "未知位置" : where}。`],
  [/^No leak suspect; the largest object keeps (\S+) of (.+) alive\.$/s, (_, share, all) => `没有泄漏嫌疑；最大的对象使 ${size(all)} 中的 ${share} 保持存活。`],
  // Running JVMs.
  [/^"(.+?)" waits for (.+?), which "(.+?)" holds(?:; (.+))?$/s, (again, who, lock, owner, rest) => `“${who}”等待“${owner}”持有的 ${lock}${rest ? "；" + again(rest) : ""}`],
  [/^(\d+) threads? of the JVM itself (?:is|are) not listed$/, (_, n) => `未列出 JVM 自身的 ${n} 个线程`],
  // Notes of views.
  [/^buffers that own their memory have (\d+) bytes outside of the heap$/, (_, n) => `拥有内存的缓冲区在堆外占 ${n} 字节`],
  [/^of ([\d,]+) live arrays, equal ones waste (\S+ \S+); the (\d+) groups that waste most are listed$/, (_, all, much, n) => `在 ${all} 个存活数组中，相同的数组浪费 ${much}；此处列出浪费最多的 ${n} 组`],
  [/^references that do not keep the object alive, such as weak ones, are not listed: (\d+)$/, (_, n) => `不使对象存活的引用（如弱引用）未列出：${n} 个`],
  [/^sort and filter look at the first (\d+) entries only$/, (_, n) => `排序和过滤只看前 ${n} 个条目`],
  [/^the tree shows its (\d+) first nodes$/, (_, n) => `此树只显示前 ${n} 个节点`],
  [/^(.+) is not known as a collection; its fields tell what it holds$/s, (_, name) => `${name} 不是已知的集合；其字段说明它持有什么`],
  [/^([\d,]+) samples? (?:was|were) lost(?:; a longer interval loses fewer)?$/, (_, n) => `丢失了 ${n} 个样本；较长的间隔丢失较少`],
  [/^([\d,]+) threads? had no timer, so the profile has no samples of (?:it|them)$/, (_, n) => `${n} 个线程没有定时器，因此没有它们的样本`],
  [/^([\d,]+) roots? (?:is an object|are objects) that the file lacks$/, (_, n) => `${n} 个根是文件所缺的对象`],
  [/^stacks are cut after (\d+) frames$/, (_, n) => `调用栈在 ${n} 帧后截断`],
  [/^frames of less than (\d+) (\S+) are left out$/, (_, n, unit) => `不足 ${n} ${unit} 的帧未显示`],
  [/^the window before has (\d+) (\S+) in all, and is scaled to (\d+)$/, (_, n, unit, to) => `之前的时间段共有 ${n} ${unit}，已按 ${to} 缩放`],
  [/^(\d+) groups are one lane, (\S+)$/, (_, n, name) => `${n} 个组合为一条：${name}`],
  [/^the profile before has (\d+) (\S+) in all, and is scaled to (\d+)$/, (_, n, unit, to) => `之前的剖析共有 ${n} ${unit}，已按 ${to} 缩放`],
  [/^the file is damaged: (.+)$/s, (_, why) => `文件已损坏：${why}`],
  [/^each dump counts with the (\d+) classes that retain most$/, (_, n) => `每个转储只计入保留最多的 ${n} 个类`],
  [/^a class counts for a host if it grows from each of its last (\d+) dumps to the next; hosts with fewer than (\d+) dumps are left out$/, (_, n, least) => `类在主机最近 ${n} 个转储中逐次增长才计入；少于 ${least} 个转储的主机不计`],
  // Problems.
  [/^last=(\d+): growth looks at (\d+) to (\d+) dumps of a host$/, (_, n, least, most) => `last=${n}：每台主机可看 ${least} 至 ${most} 个转储`],
  [/^the dump has no (object|class|thread) (.+)$/s, (_, what, which) => `此转储没有${{ object: "对象", class: "类", thread: "线程" }[what] ?? what} ${which}`],
  [/^sort=(.+): no such column; it is one of (.+)$/s, (_, key, keys) => `sort=${key}：没有此列；可用的列：${keys}`],
  [/^(\w+)=(.*): no such value; it is one of (.+)$/s, (_, key, value, all) => `${key}=${value}：没有此值；可用的值：${list(all)}`],
  [/^(\w+)=(.*): it is one of true, false$/s, (_, key, value) => `${key}=${value}：可用的值：true、false`],
  [/^(\w+)=(.*): give a whole number from 0 on$/s, (_, key, value) => `${key}=${value}：请给出不小于 0 的整数`],
  [/^(\w+)=(.*): the number is too large$/s, (_, key, value) => `${key}=${value}：数值过大`],
  [/^(\w+)=(.*): give a number such as 0\.5$/s, (_, key, value) => `${key}=${value}：请给出数值，例如 0.5`],
  [/^(\w+): the parameter is missing$/, (_, key) => `缺少参数 ${key}`],
  [/^(\w+): give the parameter once$/, (_, key) => `参数 ${key} 只能给出一次`],
  [/^limit=(\d+): a page has 1 to (\d+) rows; follow `next` for more$/, (_, n, most) => `limit=${n}：每页 1 至 ${most} 行；更多请按 next 继续`],
  [/^filter: no regular expression: (.+)$/s, (_, why) => `过滤条件不是正则表达式：${why}`],
  [/^filter: (.+)$/s, (_, why) => `过滤表达式有误：${why}`],
  [/^the query took more than (\d+) s: .*$/s, (_, n) => `查询超过 ${n} 秒：请缩小范围，例如对 id、class 或 target 等键列加条件`],
  [/^no row has the identifier (.+): identifiers are text in lower case without leading zeros; write (.+)$/s, (_, written, right) => `没有行的标识为 ${written}：标识是小写、无前导零的文本；请写 ${right}`],
  [/^no object has the identifier (.+?): identifiers are text(?: such as (.+))?$/s, (_, written, example) => `没有对象的标识为 ${written}：标识是文本${example ? `，例如 ${example}` : ""}`],
  [/^(.+) gave only the first ([\d,]+) characters of longer texts$/s, (_, names, n) => `对较长的文本，${list(names)} 只给出前 ${n} 个字符`],
  [/^the query has more than (\d+) bytes$/, (_, n) => `查询超过 ${n} 字节`],
  [/^signal (\d+) ended the worker: the system may have had no memory left, or the file changed or is damaged in a new way\. ?(.*)$/s, (_, n, more) => `信号 ${n} 终止了工作进程：系统可能已无可用内存，或文件被更改、以新的方式损坏。${more}`],
];
