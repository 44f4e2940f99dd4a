//! The routes of the views of heap dumps, `/dumps/{id}/...`.

pub(super) mod answer;
mod profile;
mod sql;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::problem::Problem;
use crate::state::AppState;
use crate::views::opened::Opened;
use crate::views::page::TableQuery;
use crate::views::table::Table;
use crate::views::{
    ViewError, by_class as parts, classes, compare as comparison, dominators as tree,
    entries as of_collection, facts, fields as of_object, histogram as by_class,
    loaders as of_classes, object as inspected, overview as head, paths as ways, reference_kinds,
    references as between, roots as of_heap, sites as allocated, threads as running,
    treemap as map, waste,
};
use answer::{Params, ask, ask_two, table};

/// A route whose answer is a table that nothing but the query of tables decides.
macro_rules! tables {
    ($($name:ident, $path:literal, $about:literal, $view:expr;)*) => {$(
        #[doc = $about]
        #[utoipa::path(
            get,
            path = $path,
            tag = "views",
            params(("id" = String, Path, description = "The dump"), TableQuery),
            responses((status = 200, content((Table = "application/json"), (String = "text/csv")))),
        )]
        async fn $name(
            State(state): State<AppState>,
            Path(id): Path<String>,
            Params(query): Params<TableQuery>,
        ) -> Result<Response, Problem> {
            let view: fn(&Arc<Opened>, &TableQuery) -> Result<Table, ViewError> = $view;
            table(state, id, query, view).await
        }
    )*};
}

tables! {
    threads, "/dumps/{id}/threads", "The threads of a dump.",
        |opened, query| running::threads(opened, query);
    loaders, "/dumps/{id}/loaders", "The class loaders of a dump.",
        |opened, query| of_classes::loaders(opened, query);
    duplicates, "/dumps/{id}/duplicates", "Strings and arrays with equal contents.",
        |opened, query| waste::duplicates(opened, query);
    collections, "/dumps/{id}/collections", "Live collections by class, with their empty places.",
        waste::collections;
    unreachable, "/dumps/{id}/unreachable", "Objects that no root reaches, by class.",
        |opened, query| by_class::unreachable(opened, query);
    buffers, "/dumps/{id}/buffers", "Direct byte buffers.", facts::buffers;
    reference_objects, "/dumps/{id}/references", "Soft, weak, phantom and final references.",
        reference_kinds::reference_kinds;
    properties, "/dumps/{id}/properties", "System properties, secrets masked.",
        |opened, query| facts::properties(opened, query);
    environment, "/dumps/{id}/environment", "Environment variables, secrets masked.",
        |opened, query| facts::environment(opened, query);
    android, "/dumps/{id}/android", "Facts and dead objects of Android's dumps.",
        |opened, query| facts::android(opened, query);
    sites, "/dumps/{id}/sites", "The stacks that allocated objects.", allocated::sites;
}

/// A route whose answer is a table that parameters of its own decide too.
macro_rules! tables_by {
    ($($name:ident, $path:literal, $about:literal, $query:ty, $view:expr;)*) => {$(
        #[doc = $about]
        #[utoipa::path(
            get,
            path = $path,
            tag = "views",
            params(("id" = String, Path, description = "The dump"), TableQuery, $query),
            responses((status = 200, content((Table = "application/json"), (String = "text/csv")))),
        )]
        async fn $name(
            State(state): State<AppState>,
            Path(id): Path<String>,
            Params(query): Params<TableQuery>,
            Params(by): Params<$query>,
        ) -> Result<Response, Problem> {
            let view: fn(&Arc<Opened>, &$query, &TableQuery) -> Result<Table, ViewError> = $view;
            table(state, id, query, move |opened, query| view(opened, &by, query)).await
        }
    )*};
}

tables_by! {
    histogram, "/dumps/{id}/histogram", "Live objects by class, super class, package or loader.",
        by_class::HistogramQuery, by_class::histogram;
    dominators, "/dumps/{id}/dominators", "The dominator tree, level by level.",
        tree::DominatorsQuery, tree::dominators;
    roots, "/dumps/{id}/roots", "Garbage-collection roots by kind.",
        of_heap::RootsQuery, of_heap::roots;
    duplicate_classes, "/dumps/{id}/duplicate-classes", "Classes that several loaders have loaded.",
        of_classes::DuplicateClassesQuery,
        |opened, by, query| of_classes::duplicate_classes(opened, by, query);
}

/// A route whose answer is a table about an object or class.
macro_rules! tables_of {
    ($($name:ident, $path:literal, $about:literal, $query:ty, $view:expr;)*) => {$(
        #[doc = $about]
        #[utoipa::path(
            get,
            path = $path,
            tag = "views",
            params(
                ("id" = String, Path, description = "The dump"),
                ("of" = String, Path, description = "The identifier of the object or class"),
                TableQuery,
                $query,
            ),
            responses((status = 200, content((Table = "application/json"), (String = "text/csv")))),
        )]
        async fn $name(
            State(state): State<AppState>,
            Path((id, of)): Path<(String, String)>,
            Params(query): Params<TableQuery>,
            Params(by): Params<$query>,
        ) -> Result<Response, Problem> {
            let view: fn(&Arc<Opened>, &str, $query, &TableQuery) -> Result<Table, ViewError> =
                $view;
            table(state, id, query, move |opened, query| view(opened, &of, by, query)).await
        }
    )*};
}

tables_of! {
    fields, "/dumps/{id}/objects/{of}/fields", "Fields, statics or elements of an object.",
        of_object::FieldsQuery, of_object::fields;
    entries, "/dumps/{id}/objects/{of}/entries", "The entries of a collection.",
        answer::Nothing, |opened, of, _, query| of_collection::entries(opened, of, query);
    references, "/dumps/{id}/objects/{of}/references", "References of an object, out or in.",
        between::ReferencesQuery, between::references;
    retained_set, "/dumps/{id}/objects/{of}/retained", "What an object retains, by class.",
        answer::Nothing, |opened, of, _, query| parts::retained_set(opened, of, query);
    class_references, "/dumps/{id}/classes/{of}/references",
        "The classes that instances of a class refer to, or that refer to them.",
        parts::ClassReferencesQuery, parts::class_references;
    instances, "/dumps/{id}/classes/{of}/instances", "The instances of a class.",
        answer::Nothing, |opened, of, _, query| classes::instances(opened, of, query);
}

/// A route whose answer is about a dump as a whole, and is no table.
macro_rules! wholes {
    ($($name:ident, $path:literal, $about:literal, $answer:ty, $view:expr;)*) => {$(
        #[doc = $about]
        #[utoipa::path(
            get,
            path = $path,
            tag = "views",
            params(("id" = String, Path, description = "The dump")),
            responses((status = 200, body = $answer)),
        )]
        async fn $name(
            State(state): State<AppState>,
            Path(id): Path<String>,
        ) -> Result<Json<$answer>, Problem> {
            ask(state, id, |opened| Ok($view(opened))).await.map(Json)
        }
    )*};
}

wholes! {
    overview, "/dumps/{id}/overview", "Totals of a dump, its gaps, and its largest objects.",
        head::Overview, head::overview;
    suspects, "/dumps/{id}/suspects", "Leak suspects with the path to each, the largest first.",
        head::Suspects, head::suspects;
}

/// The dominator tree as a map.
#[utoipa::path(
    get, path = "/dumps/{id}/treemap", tag = "views",
    params(("id" = String, Path, description = "The dump"), map::TreemapQuery),
    responses((status = 200, body = map::Area)),
)]
async fn treemap(
    State(state): State<AppState>,
    Path(id): Path<String>,
    Params(query): Params<map::TreemapQuery>,
) -> Result<Json<map::Area>, Problem> {
    ask(state, id, move |opened| map::treemap(opened, &query))
        .await
        .map(Json)
}

/// A route whose answer is about one object, thread or class, and is no table.
macro_rules! items {
    ($($name:ident, $path:literal, $about:literal, $answer:ty, $view:expr;)*) => {$(
        #[doc = $about]
        #[utoipa::path(
            get,
            path = $path,
            tag = "views",
            params(
                ("id" = String, Path, description = "The dump"),
                ("of" = String, Path, description = "The identifier of the object or class"),
            ),
            responses((status = 200, body = $answer)),
        )]
        async fn $name(
            State(state): State<AppState>,
            Path((id, of)): Path<(String, String)>,
        ) -> Result<Json<$answer>, Problem> {
            let view: fn(&Arc<Opened>, &str) -> Result<$answer, ViewError> = $view;
            ask(state, id, move |opened| view(opened, &of)).await.map(Json)
        }
    )*};
}

items! {
    thread, "/dumps/{id}/threads/{of}", "A thread with its stack.", running::ThreadDetail,
        |opened, of| running::thread(opened, of);
    object, "/dumps/{id}/objects/{of}", "The head of an object.", inspected::ObjectHead,
        |opened, of| inspected::object(opened, of);
    path, "/dumps/{id}/objects/{of}/path", "The shortest path from a root.", ways::PathAnswer,
        ways::path;
    class, "/dumps/{id}/classes/{of}", "The head of a class.", classes::ClassHead, classes::class;
    merged_paths, "/dumps/{id}/classes/{of}/paths", "The merged paths to the instances of a class.",
        ways::MergedAnswer, |opened, of| Ok(ways::merged_paths(opened, of)?.as_ref().clone());
    merged_objects, "/dumps/{id}/objects/{of}/paths",
        "The merged paths to some objects; their identifiers have commas between them.",
        ways::MergedAnswer, |opened, of| ways::merged_paths_to(opened, of);
}

/// Two dumps side by side: this one is before, the other one after.
#[utoipa::path(
    get, path = "/dumps/{id}/compare", tag = "views",
    params(("id" = String, Path, description = "The dump"), TableQuery, comparison::CompareQuery),
    responses((status = 200, content((Table = "application/json"), (String = "text/csv")))),
)]
async fn compare(
    State(state): State<AppState>,
    Path(id): Path<String>,
    Params(query): Params<TableQuery>,
    Params(by): Params<comparison::CompareQuery>,
) -> Result<Response, Problem> {
    let form = query.format;
    let unit = by.by;
    let found = ask_two(state, id, by.with, move |before, after| {
        comparison::compare(before, after, unit, &query)
    });
    answer::respond(found.await?, form)
}

/// The routes below `/api/v1`.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(overview))
        .routes(routes!(suspects))
        .routes(routes!(histogram))
        .routes(routes!(dominators))
        .routes(routes!(treemap))
        .routes(routes!(roots))
        .routes(routes!(threads))
        .routes(routes!(thread))
        .routes(routes!(loaders))
        .routes(routes!(duplicate_classes))
        .routes(routes!(duplicates))
        .routes(routes!(collections))
        .routes(routes!(unreachable))
        .routes(routes!(buffers))
        .routes(routes!(reference_objects))
        .routes(routes!(properties))
        .routes(routes!(environment))
        .routes(routes!(android))
        .routes(routes!(sites))
        .routes(routes!(object))
        .routes(routes!(fields))
        .routes(routes!(entries))
        .routes(routes!(references))
        .routes(routes!(path))
        .routes(routes!(class))
        .routes(routes!(instances))
        .routes(routes!(retained_set))
        .routes(routes!(class_references))
        .routes(routes!(merged_paths))
        .routes(routes!(merged_objects))
        .routes(routes!(compare))
        .merge(sql::routes())
        .merge(profile::routes())
}
