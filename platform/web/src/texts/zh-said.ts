// 服务器所发英文句子的中文。名称（捕获的部分）原样保留。
import type { Said } from "./said";

const size = (text: string) => text.replace(/ bytes$/, " 字节");
const list = (text: string) => text.replace(/ and (?=\S+( \([^()]*\))?$)/, "、").replaceAll(", ", "、");

/** ", through the field x" and the like. */
const through = (text: string) => (text ? text.replace(/^, at last through the field /, "，最终经由字段 ").replace(/^, through the fields? /, "，经由字段 ").replace(/ and (?=\S+$)/, "、") : "");

/** Who keeps something alive. */
const subject = (text: string) =>
  text
    .replace(/^One (.+)$/s, "一个 $1 ")
    .replace(/^(\S+) objects of class (.+), held each in the same way,$/s, "$1 个以相同方式持有的 $2 类对象")
    .replace(/^(\S+) values of ThreadLocals of class (.+), held each by its thread,$/s, "$1 个由各自线程持有的 ThreadLocal 值（$2 类）")
    .replace(/^(\S+) objects of class (\S+)$/, "$1 个 $2 类对象");

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
};


/** Sentences with names and numbers; `again` puts a part, such as a root, into words. */
export const PATTERNS: Said[] = [
  // Logs.
  [/^(\S+) threads wait for each other without an end\.$/, (_, n) => `${n} 个线程互相等待，永无结束。`],
  [/^(\S+) threads? waits? for a lock of (\S+)\.$/, (_, n, name) => `${n} 个线程在等待 ${name} 的锁。`],
  [/^No thread of (\S+) waits for a lock that another holds\.$/, (_, n) => `${n} 个线程中没有线程在等待他人持有的锁。`],
  [/^(\S+) pauses?, and nothing is noteworthy\.$/, (_, n) => `${n} 次暂停，没有值得注意的情况。`],
  // Roots.
  [/^running thread (".*")$/s, (_, name) => `运行中的线程 ${name}`],
  [/^(local variable|JNI local reference|thread block|native stack|monitor in use) in (.+)$/s, (again, root, frame) => `${frame} 中的${again(root)}`],
  // Suspects: who keeps how much.
  [/^(.+) keeps? (\S+(?: \S+)?) alive, ([\d.]+%) of the heap(, besides what other suspects keep)?\.?$/s, (_, who, much, share, rest) => `${subject(who)}使 ${size(much)} 保持存活，占堆的 ${share}${rest ? "（不含其他嫌疑所保留的）" : ""}`],
  [/^A thread keeps the values of its ThreadLocals until it ends or calls ThreadLocal\.remove\(\)\. One of the threads is the (.+)\.$/s, (again, root) => `线程会一直保留其 ThreadLocal 的值，直到线程结束或调用 ThreadLocal.remove()。其中一个线程是：${again(root)}。`],
  [/^No single object holds them all; the largest is kept alive by: (.+)\.$/s, (again, root) => `没有单个对象持有它们全部；最大的由以下根保持存活：${again(root)}。`],
  [/^One of them: ((?:it is|It is|They are) .+)$/s, (again, rest) => `以其中一个为例：${again(rest)}`],
  [/^(?:it is|It is|They are) the value of a ThreadLocal of the (.+), which keeps it until the thread ends or calls ThreadLocal\.remove\(\)\.$/s, (again, root) => `它是 ${again(root)} 的 ThreadLocal 的值，线程会一直保留它，直到线程结束或调用 ThreadLocal.remove()。`],
  [/^(?:it is|It is|They are) held by the static field (\S+) of (.+?)((?:, through the fields? |, at last through the field ).+)?\.$/s, (_, field, name, way) => `由 ${name} 的静态字段 ${field} 持有${through(way)}。`],
  [/^(?:it is|It is|They are) held by the (.+?)((?:, through the fields? |, at last through the field ).+)?\.$/s, (again, root, way) => `由 ${again(root)} 持有${through(way)}。`],
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
  [/^of (\d+) live arrays, equal ones waste (\d+) bytes; the (\d+) groups that waste most are listed$/, (_, all, much, n) => `在 ${all} 个存活数组中，相同的数组浪费 ${much} 字节；此处列出浪费最多的 ${n} 组`],
  [/^references that do not keep the object alive, such as weak ones, are not listed: (\d+)$/, (_, n) => `不使对象存活的引用（如弱引用）未列出：${n} 个`],
  [/^sort and filter look at the first (\d+) entries only$/, (_, n) => `排序和过滤只看前 ${n} 个条目`],
  [/^the tree shows its (\d+) first nodes$/, (_, n) => `此树只显示前 ${n} 个节点`],
  [/^(.+) is not known as a collection; its fields tell what it holds$/s, (_, name) => `${name} 不是已知的集合；其字段说明它持有什么`],
  [/^stacks are cut after (\d+) frames$/, (_, n) => `调用栈在 ${n} 帧后截断`],
  [/^frames of less than (\d+) (\S+) are left out$/, (_, n, unit) => `不足 ${n} ${unit} 的帧未显示`],
  [/^the profile before has (\d+) (\S+) in all, and is scaled to (\d+)$/, (_, n, unit, to) => `之前的剖析共有 ${n} ${unit}，已按 ${to} 缩放`],
  [/^the file is damaged: (.+)$/s, (_, why) => `文件已损坏：${why}`],
  [/^each dump counts with the (\d+) classes that retain most$/, (_, n) => `每个转储只计入保留最多的 ${n} 个类`],
  [/^a class counts for a host if it grows from each of its last (\d+) dumps to the next; hosts with fewer than (\d+) dumps are left out$/, (_, n, least) => `类在主机最近 ${n} 个转储中逐次增长才计入；少于 ${least} 个转储的主机不计`],
  // Problems.
  [/^last=(\d+): growth looks at (\d+) to (\d+) dumps of a host$/, (_, n, least, most) => `last=${n}：每台主机可看 ${least} 至 ${most} 个转储`],
  [/^the dump has no (object|class|thread) (.+)$/s, (_, what, which) => `此转储没有${{ object: "对象", class: "类", thread: "线程" }[what] ?? what} ${which}`],
  [/^sort=(.+): no such column; it is one of (.+)$/s, (_, key, keys) => `sort=${key}：没有此列；可用的列：${keys}`],
  [/^limit=(\d+): a page has 1 to (\d+) rows; follow `next` for more$/, (_, n, most) => `limit=${n}：每页 1 至 ${most} 行；更多请按 next 继续`],
  [/^filter: (.+)$/s, (_, why) => `过滤表达式有误：${why}`],
  [/^the query took more than (\d+) s: .*$/s, (_, n) => `查询超过 ${n} 秒：请缩小范围，例如对 id、class 或 target 等键列加条件`],
  [/^the query has more than (\d+) bytes$/, (_, n) => `查询超过 ${n} 字节`],
  [/^signal (\d+) ended the worker: the system may have had no memory left, or the file changed or is damaged in a new way\. ?(.*)$/s, (_, n, more) => `信号 ${n} 终止了工作进程：系统可能已无可用内存，或文件被更改、以新的方式损坏。${more}`],
];
