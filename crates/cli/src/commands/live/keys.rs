//! The keys of the screen.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use hprof_server::live::Mode;
use hprof_stacks::Measure;

use super::view::View;

/// The effect of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Nothing,
    /// The screen changes.
    Draw,
    /// A mode is wanted that may not record yet.
    Start(Mode),
    /// The command ends.
    Quit,
}

/// Rows of PgUp and PgDn.
const PAGE: usize = 20;

impl View {
    /// Takes a key.
    pub fn press(&mut self, key: KeyEvent) -> Action {
        if key.kind == KeyEventKind::Release {
            return Action::Nothing;
        }
        self.message = None;
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && matches!(key.code, KeyCode::Char('c' | 'd')) {
            return Action::Quit;
        }
        match self.is_typing {
            true => self.type_in(key.code),
            false => self.command(key.code),
        }
    }

    fn type_in(&mut self, key: KeyCode) -> Action {
        match key {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.typed.clear();
            }
            KeyCode::Backspace => drop(self.typed.pop()),
            KeyCode::Char(letter) => self.typed.push(letter),
            _ => return Action::Nothing,
        }
        self.first = 0;
        Action::Draw
    }

    fn command(&mut self, key: KeyCode) -> Action {
        match key {
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Char('c') => return self.switch(Measure::Samples, Mode::Cpu),
            KeyCode::Char('W') => return self.switch(Measure::Wall, Mode::Wall),
            KeyCode::Char('a') => return self.switch(Measure::AllocatedBytes, Mode::Alloc),
            KeyCode::Char('l') => return self.switch(Measure::Contention, Mode::Lock),
            KeyCode::Char('w') => self.next_window(),
            KeyCode::Char('t') => self.order = self.order.next(),
            KeyCode::Char('p') => self.is_paused = !self.is_paused,
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Esc => self.typed.clear(),
            KeyCode::Up => self.first = self.first.saturating_sub(1),
            KeyCode::Down => self.first += 1,
            KeyCode::PageUp => self.first = self.first.saturating_sub(PAGE),
            KeyCode::PageDown => self.first += PAGE,
            KeyCode::Home => self.first = 0,
            _ => return Action::Nothing,
        }
        Action::Draw
    }

    fn switch(&mut self, measure: Measure, mode: Mode) -> Action {
        self.measure = measure;
        self.first = 0;
        Action::Start(mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(view: &mut View, code: KeyCode) -> Action {
        view.press(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn keys_switch_and_letters_of_a_pattern_do_not() {
        let mut view = View::default();
        assert_eq!(
            press(&mut view, KeyCode::Char('a')),
            Action::Start(Mode::Alloc)
        );
        assert_eq!(view.measure, Measure::AllocatedBytes);
        press(&mut view, KeyCode::Char('/'));
        for letter in "acq".chars() {
            assert_eq!(press(&mut view, KeyCode::Char(letter)), Action::Draw);
        }
        press(&mut view, KeyCode::Backspace);
        press(&mut view, KeyCode::Enter);
        assert_eq!(
            (view.filter(), view.measure),
            (Some("ac"), Measure::AllocatedBytes)
        );
        press(&mut view, KeyCode::Esc);
        assert_eq!(view.filter(), None);
        assert_eq!(press(&mut view, KeyCode::Char('q')), Action::Quit);
        let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(view.press(control), Action::Quit);
    }
}
