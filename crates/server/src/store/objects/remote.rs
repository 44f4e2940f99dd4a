//! Blocking calls to object storage, repeated while it does not work.

use std::fs::File;
use std::future::Future;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt};
use object_store::client::{HttpError, HttpErrorKind};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::signer::{Method, SignedUrlOptions, Signer};
use object_store::{Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use tokio::runtime::{Builder, Runtime};

use super::failure::{fault_of, io_error};
use super::manifest::agreed;
use crate::store::Fault;

/// Files up to this size are sent in one request.
const MAX_SINGLE: u64 = 8 << 20;
/// The smallest piece of larger files.
const MIN_PIECE: u64 = 8 << 20;
/// The most pieces of a file, which S3 bounds by 10,000.
const MAX_PIECES: u64 = 9000;
/// Pieces that are sent at once; each is in memory.
const SENDS: usize = 4;
/// The bytes of one ranged read.
const RANGE: u64 = 8 << 20;
/// Ranged reads at once; each is in memory.
const READS: usize = 6;
/// The first pause before a ranged read is repeated that broke off.
const PAUSE: Duration = Duration::from_millis(200);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Object storage below a prefix.
pub(in crate::store) struct Remote {
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    files: Arc<dyn ObjectStore>,
    parts: Arc<dyn MultipartStore>,
    signing: Option<Signing>,
    prefix: Path,
    patience: Duration,
}

/// The signer of requests that clients send.
pub(super) struct Signing {
    signer: Arc<dyn Signer>,
    /// Scheme, host and port of what is signed.
    pub(super) origin: String,
}

impl Drop for Remote {
    fn drop(&mut self) {
        // Waiting is not allowed where this may happen.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Remote {
    /// Object storage below a prefix.
    ///
    /// # Errors
    /// If there are no threads.
    pub(in crate::store) fn new(
        files: Arc<dyn ObjectStore>,
        parts: Arc<dyn MultipartStore>,
        prefix: Path,
        patience: Duration,
    ) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("storage")
            .enable_all()
            .build()?;
        Ok(Self {
            runtime: Some(runtime),
            files,
            parts,
            signing: None,
            prefix,
            patience,
        })
    }

    /// The path of an object.
    pub(super) fn path(&self, parts: &[&str]) -> Path {
        let below = self.prefix.parts();
        let below = below.map(|part| part.as_ref().to_owned());
        below
            .chain(parts.iter().map(|&part| part.to_owned()))
            .collect()
    }

    /// The path of an object with this very name below the prefix, percent signs included.
    pub(in crate::store) fn named(&self, name: &str) -> io::Result<Path> {
        let whole = match self.prefix.as_ref() {
            "" => name.to_owned(),
            prefix => format!("{prefix}/{name}"),
        };
        Path::parse(whole).map_err(|_| io::Error::other(format!("{name} is no name of an object")))
    }

    /// Does work on the threads of this client, and waits for it. The caller may be a thread of
    /// another runtime that is allowed to block.
    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> io::Result<T> {
        let (send, receive) = mpsc::sync_channel(1);
        let stopped = || io::Error::from(Fault::Unavailable("the client has ended".to_owned()));
        let runtime = self.runtime.as_ref().ok_or_else(stopped)?;
        runtime.spawn(async move {
            // The caller does not wait any more if this fails.
            let _ = send.send(work.await);
        });
        let done = receive.recv().map_err(|_| stopped())?;
        done.map_err(|error| io_error(&error))
    }

    /// Asks for something, so that wrong settings are seen at the start.
    ///
    /// # Errors
    /// If the storage refuses or does not answer.
    pub(in crate::store) fn check(&self) -> io::Result<()> {
        let (files, path) = (Arc::clone(&self.files), self.path(&["dumps"]));
        self.wait(async move { files.list(Some(&path)).next().await.transpose() })?;
        Ok(())
    }

    /// Has requests of others signed from now on.
    ///
    /// # Errors
    /// If there is no key.
    pub(in crate::store) fn sign_with(&mut self, signer: Arc<dyn Signer>) -> io::Result<()> {
        let (signing, path) = (Arc::clone(&signer), self.path(&["blobs"]));
        let valid = Duration::from_secs(1);
        let url = self.wait(async move { signing.signed_url(Method::PUT, &path, valid).await })?;
        let origin = url.origin().ascii_serialization();
        self.signing = Some(Signing { signer, origin });
        Ok(())
    }

    /// A small object. Nothing says which bytes it has, so two readings in turn have to agree.
    pub(super) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        agreed(|| self.read_once(path))
    }

    fn read_once(&self, path: &Path) -> io::Result<Vec<u8>> {
        let (files, path) = (Arc::clone(&self.files), path.clone());
        let patience = self.patience;
        let bytes = self.wait(async move {
            repeated(patience, || async { files.get(&path).await?.bytes().await }).await
        })?;
        Ok(bytes.to_vec())
    }

    /// The first bytes of an object, `most` of them at most.
    pub(super) fn head(&self, path: &Path, most: u64) -> io::Result<(u64, Vec<u8>)> {
        let (files, path) = (Arc::clone(&self.files), path.clone());
        let patience = self.patience;
        self.wait(async move {
            let length = files.head(&path).await?.size;
            let range = 0..most.min(length);
            if range.is_empty() {
                return Ok((length, Vec::new()));
            }
            let bytes = repeated(patience, || files.get_range(&path, range.clone())).await?;
            Ok((length, bytes.to_vec()))
        })
    }

    /// Writes a small object if there is none of its name; false if there is one.
    pub(super) fn create(&self, path: &Path, bytes: Vec<u8>) -> io::Result<bool> {
        let (files, path) = (Arc::clone(&self.files), path.clone());
        self.wait(async move {
            let payload = PutPayload::from(bytes);
            match files.put_opts(&path, payload, PutMode::Create.into()).await {
                Ok(_) => Ok(true),
                Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(false),
                Err(error) => Err(error),
            }
        })
    }

    /// Removes an object, if it is there.
    pub(in crate::store) fn delete(&self, path: &Path) -> io::Result<()> {
        let (files, path) = (Arc::clone(&self.files), path.clone());
        self.wait(async move {
            match files.delete(&path).await {
                Err(Error::NotFound { .. }) | Ok(()) => Ok(()),
                Err(error) => Err(error),
            }
        })
    }

    /// All objects below a path.
    pub(super) fn list(&self, path: &Path) -> io::Result<Vec<ObjectMeta>> {
        let (files, path) = (Arc::clone(&self.files), path.clone());
        self.wait(async move { files.list(Some(&path)).try_collect().await })
    }

    /// The objects directly below a path.
    pub(super) fn list_flat(&self, path: &Path) -> io::Result<Vec<ObjectMeta>> {
        let (files, path) = (Arc::clone(&self.files), path.clone());
        self.wait(async move { Ok(files.list_with_delimiter(Some(&path)).await?.objects) })
    }

    /// The signer of requests that clients send, where the storage supports it.
    pub(super) fn signing(&self) -> Option<&Signing> {
        self.signing.as_ref()
    }

    /// Begins an object of several pieces; gives the storage's name for it.
    pub(super) fn begin(&self, path: &Path) -> io::Result<String> {
        let (parts, path) = (Arc::clone(&self.parts), path.clone());
        self.wait(async move { parts.create_multipart(&path).await })
    }

    /// Gives an object of several pieces up.
    pub(super) fn abort(&self, path: &Path, upload: &str) -> io::Result<()> {
        let (parts, path, upload) = (Arc::clone(&self.parts), path.clone(), upload.to_owned());
        self.wait(async move { parts.abort_multipart(&path, &upload).await })
    }

    /// Puts the pieces of an object together.
    pub(super) fn complete(&self, path: &Path, upload: &str, etags: &[String]) -> io::Result<()> {
        let (parts, path, upload) = (Arc::clone(&self.parts), path.clone(), upload.to_owned());
        let pieces = etags.iter().map(|etag| PartId {
            content_id: etag.clone(),
        });
        let pieces = pieces.collect();
        self.wait(async move {
            parts.complete_multipart(&path, &upload, pieces).await?;
            Ok(())
        })
    }

    /// The address to which others may send one piece.
    pub(super) fn sign(
        &self,
        signing: &Signing,
        path: &Path,
        upload: &str,
        number: u64,
        valid: Duration,
    ) -> io::Result<String> {
        let (signer, path) = (Arc::clone(&signing.signer), path.clone());
        let options = SignedUrlOptions::default().with_query([
            ("partNumber", number.to_string()),
            ("uploadId", upload.to_owned()),
        ]);
        self.wait(async move {
            let url = signer.signed_url_opts(Method::PUT, &path, valid, &options);
            Ok(String::from(url.await?))
        })
    }

    /// Sends a file, in pieces if it is large. An object that was begun and not ended is removed.
    pub(in crate::store) fn send(&self, file: File, path: &Path) -> io::Result<()> {
        let length = file.metadata()?.len();
        let (files, parts) = (Arc::clone(&self.files), Arc::clone(&self.parts));
        let (file, path) = (Arc::new(file), path.clone());
        self.wait(async move {
            if length <= MAX_SINGLE {
                let bytes = piece(&file, 0, length).await?;
                files.put(&path, bytes.into()).await?;
                return Ok(());
            }
            let id = parts.create_multipart(&path).await?;
            let size = MIN_PIECE.max(length.div_ceil(MAX_PIECES));
            let pieces = (0..length.div_ceil(size)).map(|number| {
                let (file, parts, path, id) = (&file, &parts, &path, &id);
                async move {
                    let start = number * size;
                    let bytes = piece(file, start, size.min(length - start)).await?;
                    parts
                        .put_part(path, id, number as usize, bytes.into())
                        .await
                }
            });
            let sent: Result<Vec<PartId>, Error> = futures_util::stream::iter(pieces)
                .buffered(SENDS)
                .try_collect()
                .await;
            let done = match sent {
                Ok(sent) => parts.complete_multipart(&path, &id, sent).await.map(drop),
                Err(error) => Err(error),
            };
            if done.is_err() {
                // The bucket's lifecycle removes what this does not.
                let _ = parts.abort_multipart(&path, &id).await;
            }
            done
        })
    }

    /// Reads an object of a known length by ranges, several at once, and gives them in order to
    /// `take` on the thread of the caller.
    ///
    /// # Errors
    /// Returns the errors of the storage and of `take`. Fails too if the object is shorter.
    pub(super) fn fetch(
        &self,
        path: &Path,
        length: u64,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let (files, path, patience) = (Arc::clone(&self.files), path.clone(), self.patience);
        let (send, mut receive) = tokio::sync::mpsc::channel::<Result<Vec<u8>, Error>>(1);
        let Some(runtime) = self.runtime.as_ref() else {
            return Err(Fault::Unavailable("the client has ended".to_owned()).into());
        };
        runtime.spawn(async move {
            let starts = (0..length.div_ceil(RANGE)).map(|number| number * RANGE);
            let reads = starts.map(|start| {
                let (files, path) = (&files, &path);
                async move {
                    let range = start..(start + RANGE).min(length);
                    let bytes = repeated(patience, || whole(&**files, path, range.clone())).await?;
                    Ok(bytes)
                }
            });
            let mut reads = futures_util::stream::iter(reads).buffered(READS);
            while let Some(read) = reads.next().await {
                let is_last = read.is_err();
                if send.send(read).await.is_err() || is_last {
                    return;
                }
            }
        });
        let mut taken = 0;
        while let Some(read) = receive.blocking_recv() {
            let bytes = read.map_err(|error| io_error(&error))?;
            taken += bytes.len() as u64;
            take(&bytes)?;
        }
        match taken == length {
            true => Ok(()),
            false => Err(Fault::Unavailable("its answer broke off".to_owned()).into()),
        }
    }
}

/// A range of an object, of which not a byte may be missing.
async fn whole(
    files: &dyn ObjectStore,
    path: &Path,
    range: std::ops::Range<u64>,
) -> Result<Vec<u8>, Error> {
    let length = range.end - range.start;
    let bytes = files.get_range(path, range).await?;
    if bytes.len() as u64 == length {
        return Ok(bytes.to_vec());
    }
    let source = HttpError::new(
        HttpErrorKind::Interrupted,
        io::Error::from(io::ErrorKind::UnexpectedEof),
    );
    Err(Error::Generic {
        store: "storage",
        source: Box::new(source),
    })
}

/// Repeats a read that fails for a reason that may pass. The client repeats requests by itself, and
/// not bodies that break off.
async fn repeated<T, F: Future<Output = Result<T, Error>>>(
    patience: Duration,
    mut read: impl FnMut() -> F,
) -> Result<T, Error> {
    let began = Instant::now();
    let mut pause = PAUSE;
    loop {
        match read().await {
            Err(error @ Error::Generic { .. })
                if matches!(fault_of(&error), Fault::Unavailable(_))
                    && began.elapsed() + pause < patience =>
            {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(MAX_PAUSE);
            }
            other => return other,
        }
    }
}

/// A piece of a file.
async fn piece(file: &Arc<File>, start: u64, length: u64) -> Result<Vec<u8>, Error> {
    let file = Arc::clone(file);
    let read = tokio::task::spawn_blocking(move || {
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, start)?;
        Ok::<_, io::Error>(bytes)
    });
    let read = read.await?;
    read.map_err(|error| Error::Generic {
        store: "file",
        source: Box::new(error),
    })
}
